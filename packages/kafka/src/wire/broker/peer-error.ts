import { WaybillError } from '@waybill/core'

/** What the other side of a connection did that no broker does. Found as the cause of a TransportError. */
export class PeerError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_PEER'
}
