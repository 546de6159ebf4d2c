// Loads parts of a page that take long to compute.
export async function part(address, signal) {
  const answer = await fetch(address, { signal, credentials: "same-origin" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) return [page.querySelector("main p.text") ?? document.createTextNode("Loading failed; reload the page.")];
  return [...page.body.childNodes].map((node) => document.adoptNode(node));
}

for (const place of document.querySelectorAll("[data-load]")) {
  part(place.dataset.load).then((nodes) => place.replaceChildren(...nodes)).finally(() => place.removeAttribute("data-load"));
}
