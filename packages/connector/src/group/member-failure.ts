/** Why a member does not run, for whoever has to mend it. */

import { KafkaError } from '@waybill/kafka'

/** What failed, and where the brokers' word for it does not say what to change, that too. */
export function describeMemberFailure(
  error: Error,
  { sessionTimeoutMs }: { readonly sessionTimeoutMs: number },
): string {
  if (!(error instanceof KafkaError) || error.reason !== 'INVALID_SESSION_TIMEOUT') return error.message
  return (
    `${error.message} The brokers do not take sessionTimeoutMs ${sessionTimeoutMs}: it has to lie between their ` +
    'group.min.session.timeout.ms (6000 unless set) and group.max.session.timeout.ms (1800000 unless set).'
  )
}
