import { Buffer } from 'node:buffer'
import { maskJson } from '../json/mask-json.ts'
import type { PayloadPolicy } from './admin-options.ts'

/** How bytes of a record or a row are shown. */
export interface PayloadRule {
  /** Whether the reader has `payloads:read`. */
  readonly isShown: boolean
  readonly policy: Required<PayloadPolicy>
}

/** Bytes that are not shown. */
export interface HiddenBytes {
  readonly hidden: true
  readonly bytes: number
}

/** Bytes as answers show them. */
export type ByteView =
  | HiddenBytes
  | {
      readonly encoding: 'utf8' | 'base64'
      readonly text: string
      readonly bytes: number
      readonly truncated?: boolean
    }

/** The most of a value that an answer has. */
const maxShownBytes = 256 * 1024

/** Returns the value of a record or a row: with the masks of the policy, and cut at 256 KiB. */
export function valueView(value: Uint8Array | string | null, { isShown, policy }: PayloadRule): ByteView | null {
  if (value === null) return null
  const bytes = typeof value === 'string' ? Buffer.from(value) : Buffer.from(value)
  if (!isShown) return { hidden: true, bytes: bytes.length }
  if (policy.mask.length === 0) return cutView(bytes)
  const text = utf8Of(bytes)
  const masked = text === undefined ? undefined : maskJson(text, policy.mask)
  if (masked !== undefined) return { ...cutView(Buffer.from(masked)), bytes: bytes.length }
  return policy.notJson === 'SHOW' ? cutView(bytes) : { hidden: true, bytes: bytes.length }
}

/** Returns a text that may hold data of users: a key, an id, or the message of an error. No mask applies. */
export function textView(text: string | null, isShown: boolean): ByteView | null {
  if (text === null) return null
  const bytes = Buffer.from(text)
  return isShown ? cutView(bytes) : { hidden: true, bytes: bytes.length }
}

/** Returns bytes to which no mask applies: a key. */
export function bytesView(bytes: Uint8Array | null, isShown: boolean): ByteView | null {
  if (bytes === null) return null
  return isShown ? cutView(Buffer.from(bytes)) : { hidden: true, bytes: bytes.length }
}

/** Returns the value of a header. */
export function headerView(
  name: string,
  value: Uint8Array | string | null,
  { isShown, policy }: PayloadRule,
): ByteView | null {
  const isMasked = policy.maskHeaders.some((one) => one.toLowerCase() === name.toLowerCase())
  return bytesView(typeof value === 'string' ? Buffer.from(value) : value, isShown && !isMasked)
}

function cutView(bytes: Buffer): ByteView {
  const isCut = bytes.length > maxShownBytes
  const shown = isCut ? bytes.subarray(0, maxShownBytes) : bytes
  const text = utf8Of(shown, isCut)
  const rest = { bytes: bytes.length, ...(isCut ? { truncated: true } : {}) }
  if (text === undefined) return { encoding: 'base64', text: shown.toString('base64'), ...rest }
  return { encoding: 'utf8', text, ...rest }
}

/** @param isCut - whether the last character may be incomplete */
function utf8Of(bytes: Uint8Array, isCut = false): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
