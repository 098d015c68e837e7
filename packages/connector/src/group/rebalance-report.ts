import type { Logger } from '@waybill/core'
import type { ConsumerOptions } from '@waybill/kafka'
import type { ContainerPlace } from '../api/container-place.ts'
import type { BindingTelemetry } from '../binding/binding-telemetry.ts'

type GroupRebalance = Parameters<NonNullable<ConsumerOptions['onRebalance']>>[0]

/** Counts and logs the rebalances of a container's group: a generation once, however many of its members join it. */
export class RebalanceReport {
  readonly #place: ContainerPlace
  readonly #telemetry: BindingTelemetry
  readonly #logger: Logger
  /** The current generation of each member. */
  readonly #generations = new Map<number, number>()

  constructor(place: ContainerPlace, telemetry: BindingTelemetry, logger: Logger) {
    this.#place = place
    this.#telemetry = telemetry
    this.#logger = logger
    telemetry.declareRebalances(place.topic)
  }

  /** Reports a rebalance as the member with this index sees it. */
  rebalanced(member: number, rebalance: GroupRebalance): void {
    const { topic, groupId: consumerGroup } = this.#place
    if (rebalance.outcome === 'FAILED') {
      this.#telemetry.rebalanced(topic, 'failed')
      this.#logger.warn({ topic, consumerGroup, member, why: rebalance.why }, 'Group rebalance failed')
      return
    }
    const { generation } = rebalance
    const isReported = [...this.#generations.values()].includes(generation)
    this.#generations.set(member, generation)
    if (isReported) return
    this.#telemetry.rebalanced(topic, 'completed')
    this.#logger.info({ topic, consumerGroup, generation }, 'Group rebalanced')
  }
}
