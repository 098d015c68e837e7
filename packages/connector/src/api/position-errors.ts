import { WaybillError } from '@waybill/core'
import type { TopicPartition } from '@waybill/kafka'
import { partitionName } from '@waybill/kafka/internal'

/** Positions of a binding could not be moved; `refusals` has the reason for each partition. */
export class PositionRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_POSITION_REFUSED'
  readonly refusals: readonly (TopicPartition & { readonly why: string })[]

  constructor(binding: string, refusals: readonly (TopicPartition & { readonly why: string })[]) {
    const lines = refusals.map(({ why, ...at }) => `\n  ${partitionName(at)}: ${why}`)
    super(`Cannot move positions of binding '${binding}':${lines.join('')}\n `, { impact: 'No position was moved.' })
    this.refusals = refusals
  }
}

/** A position command failed, and the outcome of some partitions is unknown. */
export class PositionUnknownError extends WaybillError {
  static override readonly code = 'WAYBILL_POSITION_UNKNOWN'

  constructor(binding: string, partitions: readonly TopicPartition[], cause: unknown) {
    const list = partitions.map(partitionName).join(', ')
    super(`Cannot tell whether these positions of binding '${binding}' were moved: ${list}.`, {
      cause,
      impact: 'No record was deleted. Each position is either the old or the new one.',
      hint: 'Check audit() once the cluster responds, then repeat the command if necessary.',
    })
  }
}

/** The positions were moved, but the binding could not be restarted. */
export class BindingNotResumedError extends WaybillError {
  static override readonly code = 'WAYBILL_BINDING_NOT_RESUMED'

  constructor(binding: string, cause: unknown) {
    super(`Cannot restart binding '${binding}', which left its groups to move positions.`, {
      cause,
      impact: 'No record was lost. The binding is STOPPED.',
      hint: 'Check its positions with audit(), then start it.',
    })
  }
}
