/** The reason why a group member does not run, as text for operators. */

import { KafkaError } from '@waybill/kafka'

/** Describes a member's failure, and names the setting to change where the broker's error code does not. */
export function describeMemberFailure(
  error: Error,
  { sessionTimeoutMs }: { readonly sessionTimeoutMs: number },
): string {
  if (!(error instanceof KafkaError) || error.reason !== 'INVALID_SESSION_TIMEOUT') return error.message
  return (
    `${error.message} The brokers reject sessionTimeoutMs ${sessionTimeoutMs}: set it between their ` +
    'group.min.session.timeout.ms (default 6000) and group.max.session.timeout.ms (default 1800000).'
  )
}
