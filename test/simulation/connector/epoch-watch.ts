import { errorCode, type KafkaApi, type RequestOf, type ResponseOf } from '@waybill/kafka/wire'

/**
 * Which epochs of waiting topics a process has taken, and when its groups have confirmed it since. Whoever was expelled takes
 * epochs like any owner; so nothing of a partition runs before a heartbeat that was sent after the epoch was taken is
 * acknowledged (D21).
 */
export class EpochWatch {
  /** By transactional id. */
  readonly #takenAt = new Map<string, number>()
  /** By group: when the last heartbeat was sent that was acknowledged. */
  readonly #confirmedAt = new Map<string, number>()

  /** The process has got an answer. Times are on the monotonic clock. */
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
      // A group that is about to rebalance knows its members too. Several members of a process are answered in any order.
      if (code === errorCode.NONE || code === errorCode.REBALANCE_IN_PROGRESS)
        this.#confirmedAt.set(groupId, Math.max(this.#confirmedAt.get(groupId) ?? 0, at.sentAt))
    }
  }

  /** Whether the group has confirmed the epoch that was taken last for a partition. */
  isConfirmed(groupId: string, transactionalId: string): boolean {
    const takenAt = this.#takenAt.get(transactionalId)
    return takenAt !== undefined && (this.#confirmedAt.get(groupId) ?? -1) >= takenAt
  }
}
