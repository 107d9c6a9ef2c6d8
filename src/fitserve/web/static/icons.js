// The page's icons, drawn in the colour of the text beside them. Each stands with a label, or in a button that has one.
import { html } from "./view.js";

const PATHS = {
  send: "M12 19V5m-6 6 6-6 6 6",
  stop: "M7 7h10v10H7z",
  attach: "M4 17l4.5-4.5 3 3L16 11l4 4M4 5h16v14H4zM9 9.5h.01",
  close: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  again: "M20 11a8 8 0 1 0-2 6M20 5v6h-6",
  edit: "M4 20h4L19 9l-4-4L4 16zM13.5 6.5l4 4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 12.5l4.5 4.5L19 7.5",
  undo: "M9 14 4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3",
  save: "M12 4v11m-5-5 5 5 5-5M5 20h14",
  remove: "M5 7h14M10 11v6M14 11v6M6.5 7l1 13h9l1-13M9 7V4h6v3",
  clear: "M4 12h16M8 6h8M8 18h8",
  light: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  down: "M12 5v14m-6-6 6 6 6-6",
  help: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 17.5h.01",
};

export const Icon = ({ name }) =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;

// A button that shows an icon; its label is heard and, after a moment, seen.
export const IconButton = ({ icon, label, ...rest }) =>
  html`<button type="button" class="quiet" aria-label=${label} title=${label} ...${rest}><${Icon} name=${icon} /></button>`;
