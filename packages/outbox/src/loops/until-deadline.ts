import type { Deadline } from '@waybill/core/internal'

/** Resolves when the work has ended, or at the deadline, while the work continues. */
export async function untilDeadline(work: PromiseLike<unknown>, { signal }: Pick<Deadline, 'signal'>): Promise<void> {
  const cut = Promise.withResolvers<void>()
  const onAbort = (): void => cut.resolve()
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  await Promise.race([work, cut.promise])
  signal.removeEventListener('abort', onAbort)
}
