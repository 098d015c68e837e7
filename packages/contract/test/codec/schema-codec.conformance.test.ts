import { createJsonSchemaCodec } from '@waybill/contract/codec'
import { createMemoryRegistry, createRegistryClient, type SchemaRegistry } from '@waybill/contract/registry'
import { describeWith } from '@waybill/test-support'
import { describe, expect, test } from 'vitest'
import { orderFormats } from './support/order-codecs.ts'

interface Harness {
  readonly title: string
  /** Returns a client of its own, as another process has. */
  readonly connect: () => SchemaRegistry
  /** Returns the name of a subject that only these tests use. */
  readonly subject: (name: string) => string
}

const order = { orderId: 'ö-1', total: 4200, lines: [{ sku: 's', count: 2 }] }

interface Written {
  readonly version: number
  readonly bytes: Buffer
}

/** The behavior of codecs with every registry. */
function schemaCodecSuite({ title, connect, subject }: Harness): void {
  describe.each(orderFormats)(`a codec of $title and a registry ${title}`, (format) => {
    const own = subject(`codec-${format.title.toLowerCase()}`)
    const codecOf = (version: 1 | 2 | 3) => format.codec({ registry: connect(), subject: own, version })

    test('reads what processes with other versions of the schema wrote', async () => {
      const written: Written[] = []
      for (const version of [1, 2, 3] as const) {
        // oxlint-disable-next-line no-await-in-loop -- Versions are numbered in their order.
        await connect().register(own, format.document(version))
        // oxlint-disable-next-line no-await-in-loop -- As above.
        written.push({
          version,
          bytes: await codecOf(version).encode(version === 3 ? { orderId: 'ö-1', lines: order.lines } : order),
        })
      }
      const ids = written.map(({ bytes }) => bytes.readInt32BE(1))
      expect(new Set(ids).size).toBe(3)
      const readers = [codecOf(2), codecOf(3)]
      const [second, third] = await Promise.all(
        readers.map((reader) => Promise.all(written.slice(0, 2).map(({ bytes }) => reader.decode(bytes)))),
      )
      expect(second).toMatchObject([order, order])
      expect(third).toMatchObject([{ orderId: 'ö-1' }, { orderId: 'ö-1' }])
      expect(await codecOf(3).decode(written.at(2)?.bytes ?? Buffer.alloc(0))).toMatchObject({
        orderId: 'ö-1',
        lines: order.lines,
      })
      expect(await codecOf(3).decodeAsWritten(written.at(0)?.bytes ?? Buffer.alloc(0))).toEqual(order)
    })
  })

  test(`a codec of JSON and a registry ${title} write with the schema that is registered`, async () => {
    const schema = { type: 'object', properties: { orderId: { type: 'string' } }, required: ['orderId'] }
    const options = { registry: connect(), subject: subject('codec-json'), schema }
    const registering = createJsonSchemaCodec<{ orderId: string }>({ ...options, registration: 'REGISTER' })
    const bytes = await registering.encode({ orderId: 'ö-1' })
    const other = createJsonSchemaCodec<{ orderId: string }>({ ...options, registry: connect() })
    expect(await other.encode({ orderId: 'ö-1' })).toEqual(bytes)
    expect(await other.decode(bytes)).toEqual({ orderId: 'ö-1' })
  })
}

const memory = createMemoryRegistry()
schemaCodecSuite({ title: 'in memory', connect: () => memory, subject: (name) => name })

describeWith('registry')('over HTTP', ({ registry: { url, name } }) => {
  schemaCodecSuite({ title: 'Apicurio', connect: () => createRegistryClient({ url }), subject: name })
})
