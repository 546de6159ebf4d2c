// Browsers that fetch links ahead run no script, so they do not use up the link.
document.querySelector("[data-login]")?.requestSubmit();
