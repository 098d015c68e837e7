import { describeThrown } from '@waybill/core'

/** Describes a thrown value as the last part of a sentence, without its full stop. */
export function because(thrown: unknown): string {
  return describeThrown(thrown).replace(/\.$/, '')
}
