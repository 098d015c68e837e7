/**
 * Writes to one partition of a waiting topic, as its only owner (D21).
 *
 *     FENCING ── own fence was read ──▶ READY ── appended ──▶ READY
 *        ▲                                ├──── refused: again, in the same order, after a wait
 *        ├───────── next epoch ───────────┼──── unknown, or a day has passed
 *        └── first epoch of a new place ──┴──── somebody has a newer epoch, and we are still a member
 *
 * One queue, one request in flight: nothing is in the log while something before it is not. An append whose fate is
 * unknown is looked for before it is sent again: behind a fence of the next epoch it can appear no more, so what was not
 * read by then is not there.
 */

import { describeThrown, type Runtime, StateError } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { KafkaError } from '@waybill/kafka'
import { type FencedAppender } from '@waybill/kafka/internal'
import type { Append } from './waiting-entry.ts'
import { fenceRecord, type WaitingPlace } from './waiting-record.ts'

/** What an appender stands on. */
export interface AppenderDeps {
  readonly place: WaitingPlace
  readonly runtime: Runtime
  /** Takes the next epoch, whoever had the one before; asks for none once the partition is given back. */
  readonly takeEpoch: (ended: AbortSignal) => Promise<FencedAppender>
  /** True when the group has acknowledged that we are its member, after this was asked. */
  readonly confirmMembership: () => Promise<boolean>
  /** The append is in the log. */
  readonly confirmed: (append: Append) => void
  /** Everything up to a fence of this owner was read. */
  readonly fenced: () => void
  /** The log ends below what was read of it: it was cut, or deleted and created again. Nothing is appended to it. */
  readonly replaced: () => void
  /** Something failed and will be tried again. */
  readonly troubled: (error: Error) => void
  readonly recovered: () => void
  /** A bug. */
  readonly fail: (error: unknown) => void
}

/** More than a request may hold; the rest waits. */
const mostAtOnce = 500

const backoff: BackoffPolicy = { initialMs: 100, multiplier: 2, maxMs: 10_000, jitterExceedsMax: false }

/** See the file's comment. */
export class WaitingAppender {
  readonly #deps: AppenderDeps
  readonly #ended = new AbortController()
  #queue: Append[] = []
  #appender: FencedAppender | undefined
  /** The group has to say once more that the epoch is rightly ours. */
  #isDoubtful = true
  #isRenewalDue = false
  #isFencing = true
  #failures = 0
  #isTroubled = false
  #readTo = 0n
  #wake: (() => void) | undefined
  #stopped: Promise<void> | undefined

  constructor(deps: AppenderDeps) {
    this.#deps = deps
  }

  /** Appends that are not known to be in the log. */
  get unconfirmed(): number {
    return this.#queue.length
  }

  /** True while nothing is appended before something was read. */
  get isFencing(): boolean {
    return this.#isFencing
  }

  /** Takes the first epoch and writes the first fence. */
  start(readTo: bigint): void {
    this.#readTo = readTo
    void this.#run()
  }

  append(append: Append): void {
    if (this.#ended.signal.aborted) return
    this.#queue.push(append)
    this.#wake?.()
  }

  /** Takes the next epoch when nothing is under way: an id that nobody uses for a week is forgotten. */
  renew(): void {
    this.#isRenewalDue = true
    this.#wake?.()
  }

  /** Everything below this offset was read. A position says less: it may be of a log that is no more. */
  readTo(next: bigint): void {
    if (next <= this.#readTo) return
    this.#readTo = next
    if (this.#isFencing) this.#wake?.()
  }

  /** Nothing more is begun. Resolves when what is under way has its result; never rejects. */
  stop(): Promise<void> {
    if (this.#stopped === undefined) {
      this.#ended.abort(new StateError('The partition is not owned any more.'))
      this.#wake?.()
      this.#stopped = this.#discard(this.#appender)
    }
    return this.#stopped
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      await this.#fence()
      for (;;) {
        await this.#until(() => this.#queue.length > 0 || this.#isRenewalDue)
        if (this.#isRenewalDue) await this.#fence()
        else await this.#flush()
      }
    } catch (error) {
      if (!this.#ended.signal.aborted) this.#deps.fail(error)
    }
  }

  /** Appends the head of the queue. */
  async #flush(): Promise<void> {
    const { confirmed, runtime } = this.#deps
    const batch = this.#queue.slice(0, mostAtOnce)
    const appender = this.#appender as FencedAppender
    await runtime.failpoint('waiting.append')
    const results = await Promise.allSettled(batch.map(({ record }) => appender.append(record)))
    this.#assertOwned()
    await runtime.failpoint('waiting.appended')
    this.#assertOwned()
    const written = batch.filter((_, index) => results[index]?.status === 'fulfilled')
    this.#queue = this.#queue.filter((append) => !written.includes(append))
    for (const append of written) confirmed(append)
    const failure = results.find((result) => result.status === 'rejected')
    if (failure === undefined) return this.#recovered()
    await this.#failed(failure.reason)
    if (!isPlainRefusal(failure.reason)) await this.#fence()
  }

  /** Takes the next epoch, and ends when everything before its fence was read. */
  async #fence(): Promise<void> {
    this.#isFencing = true
    while (!(await this.#tryFence())) this.#assertOwned()
    this.#isFencing = false
    this.#isRenewalDue = false
    this.#forgetConfirmed()
    this.#recovered()
    this.#deps.fenced()
  }

  async #tryFence(): Promise<boolean> {
    try {
      const appender = await this.#nextEpoch()
      this.#assertOwned()
      const readBefore = this.#readTo
      const { offset } = await appender.append(fenceRecord(this.#deps.place, appender.epoch))
      this.#assertOwned()
      if (offset < readBefore) this.#refuseReplaced(offset)
      // Who was expelled takes epochs like any owner: only the group can tell, and only after the epoch was taken.
      if (this.#isDoubtful) await this.#confirmMembership()
      this.#isDoubtful = false
      await this.#until(() => this.#readTo > offset)
      return true
    } catch (error) {
      this.#assertOwned()
      await this.#failed(error)
      return false
    }
  }

  #refuseReplaced(offset: bigint): never {
    this.#deps.replaced()
    throw new StateError(`The waiting topic ends at ${offset}, but was read up to ${this.#readTo}.`)
  }

  async #nextEpoch(): Promise<FencedAppender> {
    const known = this.#appender
    if (known !== undefined) {
      await known.renew()
      return known
    }
    const taken = await this.#deps.takeEpoch(this.#ended.signal)
    if (this.#ended.signal.aborted) void this.#discard(taken)
    else this.#appender = taken
    return taken
  }

  /** Waits before the next attempt. After a newer epoch the group is asked whose the partition is. */
  async #failed(thrown: unknown): Promise<void> {
    const error = thrown instanceof Error ? thrown : new StateError(describeThrown(thrown))
    if (error instanceof KafkaError && error.kind === 'FENCED') {
      void this.#discard(this.#appender)
      this.#appender = undefined
      this.#isDoubtful = true
      await this.#confirmMembership()
    }
    await this.#wait(error)
  }

  /**
   * Ends when the group has said that we are its member. While it does not, nothing is written and no epoch is taken:
   * either it cannot be asked now, or the partition is somebody else's, and the client will say so.
   */
  async #confirmMembership(): Promise<void> {
    while (!(await this.#deps.confirmMembership())) {
      this.#assertOwned()
      await this.#wait(new StateError('The group has not confirmed that the partition is still owned here.'))
    }
    this.#assertOwned()
  }

  async #wait(error: Error): Promise<void> {
    const { runtime, troubled } = this.#deps
    this.#isTroubled = true
    troubled(error)
    await runtime.timers.sleep(backoffMs(backoff, ++this.#failures, runtime.random), this.#ended.signal)
  }

  #recovered(): void {
    this.#failures = 0
    if (!this.#isTroubled) return
    this.#isTroubled = false
    this.#deps.recovered()
  }

  #forgetConfirmed(): void {
    this.#queue = this.#queue.filter(({ isConfirmed }) => !isConfirmed)
  }

  #assertOwned(): void {
    this.#ended.signal.throwIfAborted()
  }

  async #until(isReached: () => boolean): Promise<void> {
    while (!isReached()) {
      this.#assertOwned()
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
    this.#wake = undefined
    this.#assertOwned()
  }

  /** Never rejects. */
  async #discard(appender: FencedAppender | undefined): Promise<void> {
    try {
      await appender?.close()
    } catch (error) {
      this.#deps.runtime.logger.debug({ err: error }, 'Closing failed')
    }
  }
}

/** Nothing was written, and the epoch is as good as before. */
function isPlainRefusal(error: unknown): boolean {
  return error instanceof KafkaError && error.kind === 'FATAL'
}
