// A browser that only looks ahead runs no script, so it does not use the link up.
document.querySelector("[data-login]")?.requestSubmit();
