import { createCloudEventsFormat } from './cloudevents-format.ts'
import { createEnvelopeFormat } from './envelope-format.ts'
import { jsonFormat } from './json-format.ts'
import type { WireFormat, WireFormatName } from './wire-format.ts'

const makers: Readonly<Record<WireFormatName, (producer: string) => WireFormat>> = {
  JSON: () => jsonFormat,
  ENVELOPE: createEnvelopeFormat,
  CLOUDEVENTS: createCloudEventsFormat,
}

/** Makes a wire format by its name. `producer` is who writes: `producer_id` of the wire envelope, `source` of CloudEvents. */
export function createWireFormat(name: WireFormatName, producer: string): WireFormat {
  return makers[name](producer)
}
