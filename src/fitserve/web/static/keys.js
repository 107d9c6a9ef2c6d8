// Keys that work everywhere. Letters go with Alt, so that nothing happens while somebody types.
import { clear, newChat, stop } from "./chats.js";
import { openHelp } from "./help.js";
import { narrow, store } from "./store.js";

const ALT = {
  KeyN: newChat,
  KeyC: clear,
  KeyH: () => store.set({ drawer: !store.state.drawer }),
  Slash: openHelp,
};

export function listenToKeys() {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    if (event.altKey && ALT[event.code]) {
      event.preventDefault();
      ALT[event.code]();
      if (event.code === "KeyN" || event.code === "KeyC") document.getElementById("question")?.focus();
    } else if (event.key === "Escape") escape();
  });
}

function escape() {
  const { drawer, editing, chat } = store.state;
  if (document.querySelector("dialog[open]")) return; // it closes itself
  if (drawer && narrow()) store.set({ drawer: false });
  else if (editing) store.set({ editing: null });
  else if (chat?.answering) stop();
}
