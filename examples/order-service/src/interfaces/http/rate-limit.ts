import type { RateLimiter } from '../../application/port/rate-limiter.ts'

/** The caller sends too many requests. */
export class RateLimitedError extends Error {
  readonly retryAfterMs: number

  constructor(retryAfterMs: number) {
    super(`Too many requests. The next one is accepted in ${Math.ceil(retryAfterMs / 1_000)} s.`)
    this.name = 'RateLimitedError'
    this.retryAfterMs = retryAfterMs
  }
}

/** @throws RateLimitedError */
export async function limitRate(limiter: RateLimiter, subject: string, route: string, address: string): Promise<void> {
  // The path as it was declared: ids in it would give each order a limit of its own. Its methods share the limit: otherwise
  // HEAD would double that of GET.
  const { isAllowed, retryAfterMs } = await limiter.take(`${encodeURIComponent(subject)}:${route}:${address}`)
  if (!isAllowed) throw new RateLimitedError(retryAfterMs)
}
