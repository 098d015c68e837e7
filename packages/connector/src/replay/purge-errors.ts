import { WaybillError } from '@waybill/core'
import type { DeadLettersOfGroup } from '../api/dead-letter-admin.ts'

/** A purge would delete dead letters of other groups, and was not told to. */
export class OtherGroupsDeadLettersError extends WaybillError {
  static override readonly code = 'WAYBILL_DLT_OF_OTHER_GROUPS'
  readonly topics: readonly string[]
  /** The other groups, with their dead letters among those that the purge selects. */
  readonly others: readonly DeadLettersOfGroup[]

  constructor(topics: readonly string[], others: readonly DeadLettersOfGroup[]) {
    const counts = others.map(({ consumerGroup, count }) => `${count} of group ${consumerGroup}`).join(', ')
    super(`Purge of ${topics.join(', ')} refused: it would delete dead letters of other groups: ${counts}.`, {
      impact: 'No dead letter was deleted.',
      hint:
        'Set includeOtherGroups: true to delete them, too. retryTopicNaming: PER_GROUP gives each group a dead letter ' +
        'topic of its own.',
    })
    this.topics = topics
    this.others = others
  }
}
