import { Buffer } from 'node:buffer'
import { StateError } from '@waybill/core'
import { expect, test } from 'vitest'
import { loadChecksum, loadWasm } from '../../../src/wire/records/compiled-code.ts'
import { prepareChecksum } from '../../../src/wire/records/crc32c.ts'

const missing = (): never => {
  throw new Error('Cannot find module')
}

test('the checksum is the same with and without the native module', () => {
  const bytes = Buffer.from('123456789')
  for (const checksum of [loadChecksum(), loadChecksum(missing), loadChecksum(() => ({}))])
    expect(checksum(bytes)).toBe(0xe3069283)
})

const native = (): number => 7

test('the checksum is computed by the native module where it has one', () => {
  expect(loadChecksum(() => ({ crc32c: native }))).toBe(native)
  expect(prepareChecksum()).toBe(loadChecksum())
})

test('a missing dependency is an error that says what to install', () => {
  for (const run of [() => loadChecksum(missing, missing), () => loadWasm(missing)]) {
    expect(run).toThrow(StateError)
    expect(run).toThrow('mark @waybill/kafka as external')
  }
})
