import { describeThrown } from '@waybill/core'

/** What was thrown, as the end of a sentence that goes on with a full stop. */
export function because(thrown: unknown): string {
  return describeThrown(thrown).replace(/\.$/, '')
}
