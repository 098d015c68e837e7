import type { KafkaApi, RequestOf } from '@waybill/kafka/wire'

/** Who of a process has left its group: whoever has commits nothing any more (I18). */
export class MemberWatch {
  readonly #left = new Set<string>()

  /** What is wrong with a request that is about to be sent; undefined when nothing is. */
  sending(api: KafkaApi, request: RequestOf<KafkaApi>): string | undefined {
    if (api === 'LeaveGroup') {
      const { groupId, members } = request as RequestOf<'LeaveGroup'>
      for (const { memberId } of members) this.#left.add(`${groupId} ${memberId}`)
    }
    if (api !== 'OffsetCommit') return undefined
    const { groupId, memberId } = request as RequestOf<'OffsetCommit'>
    return memberId !== '' && this.#left.has(`${groupId} ${memberId}`)
      ? `${memberId} has left ${groupId}, and commits`
      : undefined
  }
}
