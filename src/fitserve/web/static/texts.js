// Sentences of the page's language. They come with the document, from the same catalogue as the command line's.
const boot = JSON.parse(document.getElementById("boot").textContent);

export const language = boot.language;
export const otherLanguage = language === "zh" ? "en" : "zh";
export const isDemo = boot.demo;
export const limit = boot.limit; // of a picture file

export function t(key, values = {}) {
  const sentence = boot.texts[key] ?? key; // that every key has one is tested
  return sentence.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

const numbers = new Intl.NumberFormat(language);
export const count = (number) => numbers.format(number);

const days = new Intl.DateTimeFormat(language, { dateStyle: "medium" });
const times = new Intl.DateTimeFormat(language, { timeStyle: "short" });
export function moment(seconds) {
  const then = new Date(seconds * 1000);
  return then.toDateString() === new Date().toDateString() ? times.format(then) : days.format(then);
}
