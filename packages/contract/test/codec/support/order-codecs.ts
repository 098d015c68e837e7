import { createAvroCodec, createProtobufCodec, type SchemaCodec } from '@waybill/contract/codec'
import type { SchemaDocument, SchemaRegistry } from '@waybill/contract/registry'
import type { Runtime } from '@waybill/core'
import avsc from 'avsc'
import protobuf from 'protobufjs'

/** An order in three versions: the second adds a member, the third drops one of the first. */
export type OrderVersion = 1 | 2 | 3

/** The settings that tests change. */
export interface OrderCodecSettings {
  readonly registry: SchemaRegistry
  readonly subject: string
  readonly version?: OrderVersion
  readonly registration?: 'LOOK_UP' | 'REGISTER'
  readonly longs?: 'NUMBER' | 'STRING'
  readonly maxSchemas?: number
  readonly runtime?: Runtime
}

/** A format with a codec for each version of the order. */
export interface OrderFormat {
  readonly title: string
  readonly codec: (settings: OrderCodecSettings) => SchemaCodec<unknown>
  readonly document: (version: OrderVersion) => SchemaDocument
  /** Bytes after the id of the schema, that are not what the schema says, and the text that their error has. */
  readonly damaged: readonly (readonly [title: string, hex: string, problem: string])[]
  /** The value of the member that old writers did not have. */
  readonly defaultNote: unknown
}

const fields = {
  id: { name: 'orderId', type: 'string' },
  total: { name: 'total', type: 'long' },
  lines: {
    name: 'lines',
    type: {
      type: 'array',
      items: {
        type: 'record',
        name: 'Line',
        fields: [
          { name: 'sku', type: 'string' },
          { name: 'count', type: 'int' },
        ],
      },
    },
  },
  note: { name: 'note', type: ['null', 'string'], default: null },
}
const avroFields = {
  1: [fields.id, fields.total, fields.lines],
  2: [fields.id, fields.total, fields.lines, fields.note],
  3: [fields.id, fields.lines, fields.note],
}
const avroSchema = (version: OrderVersion): string =>
  JSON.stringify({ type: 'record', name: 'Order', namespace: 'shop', fields: avroFields[version] })

const avro: OrderFormat = {
  title: 'Avro',
  codec: ({ version = 1, ...settings }) => createAvroCodec({ avro: avsc, schema: avroSchema(version), ...settings }),
  document: (version) => ({ schemaType: 'AVRO', schema: avroSchema(version), references: [] }),
  damaged: [
    ['nothing', '', 'at orderId: it is cut off'],
    ['a text of 2 GB', 'feffffff0f', 'at orderId: it is cut off'],
    ['a text that is not UTF-8', '02ff', 'at orderId: it is not UTF-8'],
    ['a list of 2^40 members', '026102808080808040027802', 'at lines[1].sku: it is cut off'],
    ['a cut off member of a list', '026102040278', 'at lines[0].count: it is cut off'],
    ['an integer without an end', '0261ffffffffffffffffffff', 'at total: it is no 64-bit integer'],
    ['a list member beyond 32 bits', '02610202027880808080804000', 'at lines[0].count: it is no 32-bit integer'],
    ['more bytes than the value has', '0261020001', 'The payload is followed by 1 more bytes'],
    ['JSON', Buffer.from('{"orderId":"a"}').toString('hex'), 'at orderId: it has a negative length'],
  ],
  defaultNote: null,
}

const protoFields = {
  1: 'string orderId = 1; int64 total = 2; repeated Line lines = 3;',
  2: 'string orderId = 1; int64 total = 2; repeated Line lines = 3; optional string note = 4;',
  3: 'string orderId = 1; repeated Line lines = 3; optional string note = 4;',
}
const protoSchema = (version: OrderVersion): string =>
  `syntax = "proto3";\npackage shop;\n\nmessage Order {\n  ${protoFields[version].replaceAll('; ', ';\n  ')}\n}\n\nmessage Line {\n  string sku = 1;\n  int32 count = 2;\n}\n`

const protobufFormat: OrderFormat = {
  title: 'Protobuf',
  codec: ({ version = 1, ...settings }) =>
    createProtobufCodec({ protobuf, schema: protoSchema(version), message: 'shop.Order', ...settings }),
  document: (version) => ({ schemaType: 'PROTOBUF', schema: protoSchema(version), references: [] }),
  damaged: [
    ['nothing', '', 'is cut off in its message indexes'],
    ['the indexes of another message', '0202', 'is shop.Line, not shop.Order'],
    ['the indexes of no message', '0212', 'of a message type that its schema does not have'],
    ['a billion indexes', 'feffffff0f', 'message indexes'],
    ['a cut off text', '000a05', 'at orderId: it is cut off'],
    ['a text that is not UTF-8', '000a01ff', 'at orderId: it is not UTF-8'],
    ['a text where an integer should be', '00120161', 'at total: it has wire type 2, not 0 as int64 has'],
    ['a cut off member of a list', '001a020a05', 'at lines.sku: it is cut off'],
    ['a wire type that does not exist', '00ff01', 'at ["#31"]: it has wire type 7'],
    ['a member without a number', '0000', 'has a member with number 0'],
  ],
  defaultNote: undefined,
}

/** The formats with a schema that is needed to read their bytes. */
export const orderFormats: readonly OrderFormat[] = [avro, protobufFormat]
