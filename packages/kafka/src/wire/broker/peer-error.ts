import { WaybillError } from '@waybill/core'

/** A violation of the protocol by the peer. Appears as the cause of a TransportError. */
export class PeerError extends WaybillError {
  static override readonly code = 'WAYBILL_KAFKA_PEER'
}
