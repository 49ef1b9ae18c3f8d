/** Fetches the next item while the consumer works on the current one. Never fetches more than one ahead. */
export async function* prefetch<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  const fetchNext = () => {
    const result = items.next();
    // The loop rethrows this error when it gets there. Without a handler, Node would end the process before.
    result.catch(() => {});
    return result;
  };
  try {
    for (let pending = fetchNext(); ; ) {
      const result = await pending;
      if (result.done) return;
      pending = fetchNext();
      yield result.value;
    }
  } finally {
    await items.return(undefined);
  }
}
