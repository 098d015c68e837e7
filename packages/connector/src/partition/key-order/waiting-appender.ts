/**
 * Appends to one partition of a waiting topic, as its only owner.
 *
 *     FENCING ── own fence was read ──▶ READY ── appended ──▶ READY
 *        ▲                                ├──── refused: again, in the same order, after a wait
 *        ├───────── next epoch ───────────┼──── unknown, or a day has passed
 *        └── first epoch of a new place ──┴──── fenced by a newer epoch, and still a member of the group
 *
 * One queue, one request in flight: an append is in the log only if all before it are. An append with an unknown result
 * is searched before it is sent again: it cannot appear behind a fence of the next epoch, so if it was not read by then,
 * it is not there.
 */

import { describeThrown, type Runtime, StateError } from '@waybill/core'
import { type BackoffPolicy, backoffMs } from '@waybill/core/internal'
import { KafkaError } from '@waybill/kafka'
import { type FencedAppender } from '@waybill/kafka/internal'
import type { Append } from './waiting-entry.ts'
import { fenceRecord, type WaitingPlace } from './waiting-record.ts'

/** The collaborators of an appender. */
export interface AppenderDeps {
  readonly place: WaitingPlace
  readonly runtime: Runtime
  /** Takes the next epoch from any previous owner; requests none once the partition is revoked. */
  readonly takeEpoch: (ended: AbortSignal) => Promise<FencedAppender>
  /** Resolves with true when the group confirms membership after this call. */
  readonly confirmMembership: () => Promise<boolean>
  /** Called when an append is in the log. */
  readonly confirmed: (append: Append) => void
  /** Called when everything up to a fence of this owner was read. */
  readonly fenced: () => void
  /** Called when the log ends below what was read: it was truncated or re-created. Nothing is appended to it. */
  readonly replaced: () => void
  /** Called when a request failed and is retried. */
  readonly troubled: (error: Error) => void
  readonly recovered: () => void
  /** Called for a bug. */
  readonly fail: (error: unknown) => void
}

/** The limits of one request; further appends wait. */
const mostAtOnce = 500

const backoff: BackoffPolicy = { initialMs: 100, multiplier: 2, maxMs: 10_000, jitterExceedsMax: false }

/** See the file's comment. */
export class WaitingAppender {
  readonly #deps: AppenderDeps
  readonly #ended = new AbortController()
  #queue: Append[] = []
  #appender: FencedAppender | undefined
  /** The group has to confirm that this owner may use its epoch. */
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

  /** The number of appends that are not known to be in the log. */
  get unconfirmed(): number {
    return this.#queue.length
  }

  /** True while the next append waits for a read. */
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

  /** Takes the next epoch when nothing is in flight: brokers forget an id that is unused for a week. */
  renew(): void {
    this.#isRenewalDue = true
    this.#wake?.()
  }

  /** Notes that everything below an offset was read. A position is not enough: it may belong to a deleted log. */
  readTo(next: bigint): void {
    if (next <= this.#readTo) return
    this.#readTo = next
    if (this.#isFencing) this.#wake?.()
  }

  /** Stops. Resolves when requests in flight have completed; never rejects. */
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

  /** Takes the next epoch, and resolves when everything before its fence was read. */
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
      // An expelled member can take epochs too: only the group knows, and only after the epoch was taken.
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

  /** Waits before the next attempt. If fenced, confirms with the group that the partition is still owned here. */
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
   * Resolves when the group confirms membership. Until then nothing is written and no epoch is taken: either the group is
   * unavailable, or another member owns the partition, which the client will report.
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
      this.#deps.runtime.logger.debug({ err: error }, 'Waiting topic producer not closed')
    }
  }
}

/** Returns true when nothing was written and the epoch is still valid. */
function isPlainRefusal(error: unknown): boolean {
  return error instanceof KafkaError && error.kind === 'FATAL'
}
