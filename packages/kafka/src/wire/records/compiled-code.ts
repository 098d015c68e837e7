/** Loads compiled code when a client or a batch first needs it: importing the package loads none. */

import type { Buffer } from 'node:buffer'
import { createRequire } from 'node:module'
import type * as Native from '@node-rs/crc32'
import type * as Wasm from '@platformatic/wasm-utils'
import { StateError } from '@waybill/core'

const require = createRequire(import.meta.url)

const requireNative = (): unknown => require('@node-rs/crc32')
const requireWasm = (): unknown => require('@platformatic/wasm-utils')

/**
 * Loads the WebAssembly of LZ4, Snappy and CRC-32C; later calls return the loaded module.
 *
 * @throws StateError where the package is not installed, as in a bundle that left it out.
 */
export function loadWasm(load: () => unknown = requireWasm): typeof Wasm {
  try {
    return load() as typeof Wasm
  } catch (cause) {
    throw new StateError('Cannot load @platformatic/wasm-utils, which @waybill/kafka needs for checksums', {
      cause,
      impact: 'No record was sent or read.',
      hint: 'Install the dependencies of @waybill/kafka. If you bundle your application, mark @waybill/kafka as external.',
    })
  }
}

/** Loads CRC-32C: native code where it installs, else WebAssembly at a third of its speed. @throws StateError */
export function loadChecksum(
  native: () => unknown = requireNative,
  wasm: () => unknown = requireWasm,
): (bytes: Buffer) => number {
  try {
    const { crc32c } = native() as Partial<typeof Native>
    if (typeof crc32c === 'function') return crc32c
  } catch {
    // An optional dependency: it has no build for some platforms.
  }
  return loadWasm(wasm).crc32c
}
