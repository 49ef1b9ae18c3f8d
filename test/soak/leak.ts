/** Makes the service that imports it leak, to prove that the soak finds it: 20 KiB in each 100 ms. */
const kept: string[][] = [];

setInterval(
  () => kept.push(Array.from({ length: 500 }, (_, index) => `leaked ${kept.length} ${index}`)),
  100,
).unref();
