/* Forms that answer while they are filled in. Without it the button does the same. */
document.querySelectorAll("form[data-live]").forEach((form) => {
  const answer = document.getElementById(form.id.replace(/-form$/, "-answer"));
  let timer = 0;
  let asked = 0;
  async function ask() {
    const typed = new FormData(form);
    if (!answer || !typed.get("model") || !typed.get("on")) return;
    const query = new URLSearchParams([...typed].filter(([, value]) => value.trim()));
    const address = `${form.getAttribute("action")}?${query}`;
    const turn = ++asked;
    answer.setAttribute("aria-busy", "true");
    try {
      const reply = await fetch(address);
      const page = new DOMParser().parseFromString(await reply.text(), "text/html");
      const found = page.getElementById(answer.id);
      if (turn !== asked || !found) return;
      answer.replaceChildren(...found.childNodes);
      document.title = page.title;
      history.replaceState(null, "", address);
    } catch {
      /* No connection: the button still asks. */
    } finally {
      if (turn === asked) answer.removeAttribute("aria-busy");
    }
  }
  form.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 150);
  });
});
