/** Loads compiled code when a batch first needs it: importing the client loads none. */

import type { Buffer } from 'node:buffer'
import { createRequire } from 'node:module'
import type * as Native from '@node-rs/crc32'
import type * as Wasm from '@platformatic/wasm-utils'

const require = createRequire(import.meta.url)

/** Loads the WebAssembly of LZ4, Snappy and CRC-32C; later calls return the loaded module. */
export function loadWasm(): typeof Wasm {
  return require('@platformatic/wasm-utils') as typeof Wasm
}

/** Loads CRC-32C: native code where it installs, else WebAssembly at a third of its speed. */
export function loadChecksum(): (bytes: Buffer) => number {
  try {
    return (require('@node-rs/crc32') as typeof Native).crc32c
  } catch {
    // An optional dependency: it has no build for some platforms.
    return loadWasm().crc32c
  }
}
