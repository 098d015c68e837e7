import type { KafkaApi, RequestOf } from '@waybill/kafka/wire'

/** Tracks which members of a process have left their group: they must not commit any more (I18). */
export class MemberWatch {
  readonly #left = new Set<string>()

  /** Describes a violation in a request about to be sent; undefined when there is none. */
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
