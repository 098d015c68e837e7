import { describeThrown } from '@waybill/core'

/** Describes a thrown value as the last part of a sentence, without its full stop. */
export function reasonOf(thrown: unknown): string {
  return describeThrown(thrown).replace(/\.$/, '')
}
