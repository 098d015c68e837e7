import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import { partitionName } from '@waybill/kafka/internal'

/** Positions of a binding that could not be moved, with the reason for each partition. */
export class PositionRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_POSITION_REFUSED'
  readonly refusals: readonly (TopicPartition & { readonly why: string })[]

  constructor(binding: string, refusals: readonly (TopicPartition & { readonly why: string })[]) {
    const lines = refusals.map(({ why, ...at }) => `\n  ${partitionName(at)}: ${why}`)
    super(`Positions of binding '${binding}' cannot be moved:${lines.join('')}\n `, { impact: 'Nothing was moved.' })
    this.refusals = refusals
  }
}

/** Positions were asked to be moved, and not every partition is known to have been. */
export class PositionUnknownError extends WaybillError {
  static override readonly code = 'WAYBILL_POSITION_UNKNOWN'

  constructor(binding: string, partitions: readonly TopicPartition[], cause: unknown) {
    const list = partitions.map(partitionName).join(', ')
    super(`Whether the positions of binding '${binding}' were moved is not known of: ${list}.`, {
      cause,
      impact: 'Nothing was deleted. Each of them is either where it was or where it should be.',
      hint: 'Read audit() when the cluster answers, then give the command again if need be.',
    })
  }
}

/** The positions were moved, and the binding does not run as it did before. */
export class BindingNotResumedError extends WaybillError {
  static override readonly code = 'WAYBILL_BINDING_NOT_RESUMED'

  constructor(binding: string, cause: unknown) {
    super(`Binding '${binding}' was taken out of its groups for a moment and could not be started again.`, {
      cause,
      impact: 'It is STOPPED, and nothing was lost.',
      hint: 'Read audit() for its positions, and start it.',
    })
  }
}
