import { Buffer } from 'node:buffer'
import { createRequire } from 'node:module'
import { StateError } from '@waybill/core'
import { expect, test } from 'vitest'
import { loadChecksum, loadWasm } from '../../../src/wire/records/compiled-code.ts'

const load = createRequire(import.meta.url)

/** Loads modules as Node does, without those that are missing. */
const without =
  (...missing: readonly string[]) =>
  (name: string): unknown => {
    if (missing.includes(name)) throw new Error(`Cannot find module '${name}'`)
    return load(name)
  }

test('the checksum is the same with and without the native module', () => {
  const bytes = Buffer.from('123456789')
  expect(loadChecksum()(bytes)).toBe(0xe3069283)
  expect(loadChecksum(without('@node-rs/crc32'))(bytes)).toBe(0xe3069283)
})

test('the checksum does not depend on a native module that lacks it', () => {
  const broken = (name: string): unknown => (name === '@node-rs/crc32' ? {} : load(name))
  expect(loadChecksum(broken)(Buffer.from('123456789'))).toBe(0xe3069283)
})

test('a missing dependency is an error that says what to install', () => {
  const nothing = without('@node-rs/crc32', '@platformatic/wasm-utils')
  for (const run of [() => loadChecksum(nothing), () => loadWasm(nothing)]) {
    expect(run).toThrow(StateError)
    expect(run).toThrow('mark @waybill/kafka as external')
  }
})
