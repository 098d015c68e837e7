import { errorCode, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'

/**
 * Tracks the epochs of waiting topics that a process has acquired, and when its groups have confirmed it since. An
 * expelled member acquires epochs like any owner; so nothing of a partition runs until a heartbeat sent after the epoch
 * was acquired is acknowledged.
 */
export class EpochWatch {
  /** By transactional id. */
  readonly #takenAt = new Map<string, number>()
  /** By group: send time of the last acknowledged heartbeat. */
  readonly #confirmedAt = new Map<string, number>()

  /** Processes a response. Times are monotonic. */
  answered(
    api: KafkaApi,
    request: RequestOf<KafkaApi>,
    response: ResponseOf<KafkaApi>,
    at: { readonly sentAt: number; readonly now: number },
  ): void {
    if (api === 'InitProducerId') {
      const { transactionalId, producerEpoch } = request as RequestOf<'InitProducerId'>
      const isTaken = (response as ResponseOf<'InitProducerId'>).errorCode === errorCode.NONE && producerEpoch < 0
      if (isTaken && transactionalId !== null) this.#takenAt.set(transactionalId, at.now)
    }
    if (api === 'Heartbeat') {
      const { groupId } = request as RequestOf<'Heartbeat'>
      const { errorCode: code } = response as ResponseOf<'Heartbeat'>
      // A rebalancing group still knows its members. Responses to several members of a process come in any order.
      if (code === errorCode.NONE || code === errorCode.REBALANCE_IN_PROGRESS)
        this.#confirmedAt.set(groupId, Math.max(this.#confirmedAt.get(groupId) ?? 0, at.sentAt))
    }
  }

  /** Returns true when the group has confirmed the epoch last acquired for a partition. */
  isConfirmed(groupId: string, transactionalId: string): boolean {
    const takenAt = this.#takenAt.get(transactionalId)
    return takenAt !== undefined && (this.#confirmedAt.get(groupId) ?? -1) >= takenAt
  }
}
