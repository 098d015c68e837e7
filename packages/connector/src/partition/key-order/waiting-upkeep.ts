import type { Runtime } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { WaitingPlace } from './waiting-record.ts'

/** What the upkeep stands on. */
export interface UpkeepDeps {
  readonly place: WaitingPlace
  readonly runtime: Runtime
  readonly client: Pick<KafkaClient, 'admin'>
  /** Uses the transactional id, so that the broker does not forget it. */
  readonly renew: () => void
  readonly fail: (error: unknown) => void
}

/** A transactional id that nobody uses is forgotten after 7 days; nobody notices one renewal a day. */
const everyMs = 24 * 3_600_000

/** What a waiting topic needs each day, whatever happens in it: a sign of life, and that what is done with is deleted. */
export class WaitingUpkeep {
  readonly #deps: UpkeepDeps
  #committed: bigint
  #committedADayAgo: bigint | undefined
  #timer: Disposable | undefined

  constructor(deps: UpkeepDeps, committed: bigint) {
    this.#deps = deps
    this.#committed = committed
  }

  start(): void {
    const { runtime, renew, fail } = this.#deps
    this.#timer = runtime.timers.schedule(everyMs, () => {
      renew()
      this.#deletePast().catch(fail)
      this.start()
    })
  }

  stop(): void {
    this.#timer?.[Symbol.dispose]()
  }

  /** The group remembers this position of the waiting topic. */
  committed(position: bigint): void {
    this.#committed = position
  }

  /** No commit that is still under way can set the position back to where it was a day ago. */
  async #deletePast(): Promise<void> {
    const { client, place, runtime } = this.#deps
    const before = this.#committedADayAgo
    this.#committedADayAgo = this.#committed
    if (before === undefined || before === 0n) return
    try {
      await client.admin.deleteRecords([{ ...place.waiting, before }])
    } catch (err) {
      // Nothing depends on it: the next day deletes what this one did not.
      runtime.logger.warn({ ...place.waiting, err }, 'Records that are done with could not be deleted')
    }
  }
}
