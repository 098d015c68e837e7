import { BindingNotFoundError, ConnectorClosedError } from '@waybill/connector'
import { ArgumentError, OperationForbiddenError, OptionsError } from '@waybill/core'
import { KafkaError } from '@waybill/kafka'
import { isMissing } from '@waybill/kafka/internal'

/** Returns whether a failure ends an operation: no wait can help. */
export function isPermanent(error: unknown): boolean {
  if (error instanceof ConnectorClosedError) return false // This process stops; another one continues.
  if (error instanceof KafkaError) return isMissing(error)
  return [BindingNotFoundError, ArgumentError, OptionsError, OperationForbiddenError].some(
    (one) => error instanceof one,
  )
}
