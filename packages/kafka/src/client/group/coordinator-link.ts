/**
 * Requests to a group's coordinator. A broker serves one request per connection at a time, so there are three
 * connections: a JoinGroup may wait for a minute, a commit for its replicas, and a heartbeat must wait for neither.
 */

import type { Runtime } from '@waybill/core'
import { errorCode } from '../../wire/api/error-codes.ts'
import type { KafkaApi, ResponseOf } from '../../wire/api/kafka-apis.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { KafkaError } from '../cluster/kafka-error.ts'
import type { Nodes, RequestSource } from '../cluster/nodes.ts'

/**
 * The connection of a request: JOIN for JoinGroup and SyncGroup, OFFSET for offsets, BEAT for everything that must not
 * wait.
 */
export type Lane = 'JOIN' | 'OFFSET' | 'BEAT'

const movedCodes: ReadonlySet<number> = new Set([
  errorCode.NOT_COORDINATOR,
  errorCode.COORDINATOR_NOT_AVAILABLE,
  errorCode.COORDINATOR_LOAD_IN_PROGRESS,
])

/** Sends requests to the current coordinator of the group. */
export class CoordinatorLink {
  readonly groupId: string
  readonly #cluster: Cluster
  readonly #lanes: Readonly<Record<Lane, Nodes>>
  readonly #clock: Runtime['clock']

  constructor(cluster: Cluster, lanes: Readonly<Record<Lane, Nodes>>, clock: Runtime['clock'], groupId: string) {
    this.groupId = groupId
    this.#cluster = cluster
    this.#lanes = lanes
    this.#clock = clock
  }

  /**
   * Sends one request, once. Finding the coordinator counts toward the timeout. A failure invalidates the cached
   * coordinator.
   */
  async send<A extends KafkaApi>(
    lane: Lane,
    api: A,
    request: RequestSource<A>,
    timeoutMs: number,
  ): Promise<ResponseOf<A>> {
    const endAt = this.#clock.monotonic() + timeoutMs
    const node = await this.#cluster.coordinator('GROUP', this.groupId, timeoutMs)
    try {
      return await this.#lanes[lane].send(node, api, request, Math.max(1, endAt - this.#clock.monotonic()))
    } catch (error) {
      if (error instanceof KafkaError && (error.kind === 'RETRIABLE' || error.kind === 'UNKNOWN')) this.forget()
      throw error
    }
  }

  /**
   * Returns true when the code means that the coordinator has moved or is not ready, and invalidates the cached one.
   */
  hasMoved(code: number): boolean {
    const isMoved = movedCodes.has(code)
    if (isMoved) this.forget()
    return isMoved
  }

  forget(): void {
    this.#cluster.invalidateCoordinator('GROUP', this.groupId)
  }

  close(): void {
    for (const lane of Object.values(this.#lanes)) lane.close()
  }
}
