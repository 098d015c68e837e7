import { StateError } from '../errors.ts'
import { takeRejection } from '../failure/take-rejection.ts'
import { markName } from './mark-name.ts'
import { RequestInProgressError, RequestKeyReusedError, RequestStoreUnavailableError } from './request-errors.ts'
import { decodeMark, encodeMark, type RequestMark } from './request-mark.ts'
import type { ResolvedRequestIdempotencyOptions } from './request-options.ts'

/** The request that a mark belongs to. */
export interface MarkedRequest {
  readonly caller: string
  readonly key: string
  readonly fingerprint: string
}

/** The answer to a new request: it runs, or an earlier one has succeeded. */
export type RequestStart =
  | { readonly kind: 'RUN'; readonly claim: RequestClaim }
  | { readonly kind: 'COMPLETED'; readonly reference: string }

/** Rounds of a compare-and-set that loses to a mark which is gone when it is read. */
const mostRounds = 3

/**
 * The mark of one running request. Its end is written by comparison with the mark it set itself, so that a request which
 * outlived its mark changes nothing of the request that came after it.
 */
export class RequestClaim {
  readonly #options: ResolvedRequestIdempotencyOptions
  readonly #request: MarkedRequest
  readonly #name: string
  readonly #own: string
  /** Settles when the mark is set or not, which may be long after the time limit; null: it has settled. */
  #setting: Promise<void> | null = null

  constructor(options: ResolvedRequestIdempotencyOptions, request: MarkedRequest) {
    this.#options = options
    this.#request = request
    this.#name = markName(request.caller, request.key)
    this.#own = encodeMark({
      status: 'IN_PROGRESS',
      token: tokenOf(options.runtime.random),
      fingerprint: request.fingerprint,
      at: options.runtime.clock.now(),
    })
  }

  /**
   * Sets the mark, or returns what an earlier request left.
   *
   * @throws a RequestInProgressError, a RequestKeyReusedError or a RequestStoreUnavailableError
   */
  async begin(): Promise<RequestStart> {
    let held: RequestMark | null
    try {
      const setting = this.#set()
      const settled = (): void => void (this.#setting = null)
      this.#setting = setting.then(settled, settled) // Reported below, unless the time limit passed before.
      held = await this.#within(setting)
    } catch (err) {
      if (this.#options.onStoreFailure === 'REJECT') throw new RequestStoreUnavailableError(err)
      this.#options.runtime.logger.warn({ err }, 'Request mark not set, proceeding without it')
      held = null
    }
    if (held === null) return { kind: 'RUN', claim: this }
    if (held.fingerprint !== this.#request.fingerprint) throw new RequestKeyReusedError()
    if (held.status === 'COMPLETED') return { kind: 'COMPLETED', reference: held.reference }
    const { inProgressTtlMs, runtime } = this.#options
    const leftMs = held.at + inProgressTtlMs - runtime.clock.now()
    throw new RequestInProgressError(Math.min(inProgressTtlMs, Math.max(0, leftMs)))
  }

  /** Marks the request as completed. Never rejects: the effect is committed, and its own key finds it. */
  async complete(reference: string): Promise<void> {
    const { store, completedTtlMs, runtime } = this.#options
    const { fingerprint } = this.#request
    const done = encodeMark({ status: 'COMPLETED', fingerprint, at: runtime.clock.now(), reference })
    await this.#settle('Request mark not completed; repeats are rejected until it expires', async () => {
      if (await store.compareAndSet(this.#name, this.#own, done, completedTtlMs)) return
      // Its time was over, or it was never set. The mark of a later request is left to that request.
      await store.compareAndSet(this.#name, null, done, completedTtlMs)
    })
  }

  /** Deletes the mark, so that a repeat runs at once. Never rejects: without it the mark expires. */
  async release(): Promise<void> {
    const { store } = this.#options
    const remove = async (): Promise<unknown> => store.compareAndDelete(this.#name, this.#own)
    await this.#settle('Request mark not released; repeats are rejected until it expires', async () => {
      const setting = this.#setting
      if ((await remove()) || setting === null) return
      // A command that was queued past its time limit may still set the mark.
      takeRejection(setting.then(remove))
    })
  }

  /** @returns the mark that stands in the way; null: the own mark is set */
  async #set(): Promise<RequestMark | null> {
    const { store, inProgressTtlMs } = this.#options
    for (let round = 1; round <= mostRounds; round++) {
      if (await store.compareAndSet(this.#name, null, this.#own, inProgressTtlMs)) return null
      const found = await store.read(this.#name)
      // A client library that repeats a command whose answer was lost finds the own mark.
      if (found === this.#own) return null
      if (found !== null) return decodeMark(found)
    }
    throw new StateError('The mark of a request was neither set nor found, several times in a row.')
  }

  async #settle(failed: string, write: () => Promise<void>): Promise<void> {
    try {
      await this.#within(write())
    } catch (err) {
      this.#options.runtime.logger.warn({ err }, failed)
    }
  }

  /** Rejects once the time limit has passed. What the store does then is no longer waited for. */
  async #within<T>(answer: Promise<T>): Promise<T> {
    const { runtime, storeTimeoutMs } = this.#options
    const late = Promise.withResolvers<never>()
    using _ = runtime.timers.schedule(storeTimeoutMs, () =>
      late.reject(new StateError(`The store of requests did not answer within ${storeTimeoutMs} ms.`)),
    )
    takeRejection(answer)
    return await Promise.race([answer, late.promise])
  }
}

function tokenOf(random: () => number): string {
  const part = (): string =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  return `${part()}${part()}`
}
