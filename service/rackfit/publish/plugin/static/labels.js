// Names the field that Datasette's SQL editor puts in place of the text area.
addEventListener("load", () => setTimeout(() => {
  for (const field of document.querySelectorAll(".CodeMirror textarea, .cm-content")) {
    field.setAttribute("aria-label", "SQL");
  }
}));
