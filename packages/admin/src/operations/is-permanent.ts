import { BindingNotFoundError, ConnectorClosedError } from '@waybill/connector'
import { ArgumentError, OperationForbiddenError, OptionsError, WaybillError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'
import { isMissing } from '@waybill/kafka/internal'

/** A topic is missing on a broker that has just started, too: only after this many failures it is gone. */
const missingFailures = 10

/** The rebuild of a projection says by itself that no repeat helps. */
const permanentCodes: readonly string[] = ['WAYBILL_PROJECTION_REBUILD_REFUSED', 'WAYBILL_PROJECTION_REBUILD_FAILED']

/**
 * Returns whether a failure ends an operation: no wait can help.
 * @param failures - in a row, without progress
 */
export function isPermanent(error: unknown, failures: number): boolean {
  if (error instanceof ConnectorClosedError) return false // This process stops; another one continues.
  if (error instanceof KafkaError) return isMissing(error) && failures >= missingFailures
  if (error instanceof WaybillError && permanentCodes.includes(error.code)) return true
  return [BindingNotFoundError, ArgumentError, OptionsError, OperationForbiddenError].some(
    (one) => error instanceof one,
  )
}
