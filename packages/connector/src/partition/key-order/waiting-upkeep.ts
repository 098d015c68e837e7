import type { Runtime } from '@waybill/core'
import type { KafkaClient } from '@waybill/kafka'
import type { WaitingPlace } from './waiting-record.ts'

/** The collaborators of the upkeep. */
export interface UpkeepDeps {
  readonly place: WaitingPlace
  readonly runtime: Runtime
  readonly client: Pick<KafkaClient, 'admin'>
  /** Uses the transactional id, so that brokers do not forget it. */
  readonly renew: () => void
  readonly fail: (error: unknown) => void
}

/** Brokers forget a transactional id that is unused for 7 days; one renewal a day costs nothing noticeable. */
const everyMs = 24 * 3_600_000

/** Renews the transactional id of a waiting topic each day, and deletes its settled records. */
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

  /** Notes the committed position of the waiting topic. */
  committed(position: bigint): void {
    this.#committed = position
  }

  /** Deletes below the position of a day ago: no commit in flight can reset the group to it. */
  async #deletePast(): Promise<void> {
    const { client, place, runtime } = this.#deps
    const before = this.#committedADayAgo
    this.#committedADayAgo = this.#committed
    if (before === undefined || before === 0n) return
    try {
      await client.admin.deleteRecords([{ ...place.waiting, before }])
    } catch (err) {
      // Nothing depends on it: the next run deletes them.
      runtime.logger.warn({ ...place.waiting, err }, 'Settled waiting records not deleted, retrying tomorrow')
    }
  }
}
