import { Buffer } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { loadWasm } from '../../../src/wire/records/compiled-code.ts'
import { crc32c } from '../../../src/wire/records/crc32c.ts'

describe('the checksum of record batches', () => {
  test('is CRC-32C', () => {
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa)
  })

  test('is the same in native code and in WebAssembly, which stands in for it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 9_000 }), (array) => {
        const bytes = Buffer.from(array)
        expect(loadWasm().crc32c(bytes)).toBe(crc32c(bytes))
      }),
    )
  })
})
