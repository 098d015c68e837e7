/** The rules of the `decode` option. */

import { instance, nearest, optional, type Report, type Rule } from '@waybill/core/option'
import type { DecodeOption } from '../api/decode-option.ts'
import type { ResolvedBinding } from '../binding/resolved-binding.ts'
import { preparerOf } from '../handlers/handle-events.ts'
import { isSchema } from '../handlers/value-decoder.ts'

/** Values of `decode` that are words; a configuration refers to other code by name. */
export const decodeWords: readonly ('json' | 'text')[] = ['json', 'text']

const isWord = (value: unknown): boolean => decodeWords.some((word) => word === value)

/** The rule of `decode`. */
export const decodeRule: Rule<DecodeOption | undefined> = {
  ...optional(
    instance<DecodeOption>(
      "'json', 'text', a function, or a Standard Schema",
      (value) => isWord(value) || typeof value === 'function' || isSchema(value),
    ),
  ),
  meant: (value) => (typeof value === 'string' ? nearest(value, decodeWords) : undefined),
}

/** Reports a binding that would decode its records twice. */
export function checkDecode({ decode, handler }: Pick<ResolvedBinding, 'decode' | 'handler'>, report: Report): void {
  if (decode !== undefined && preparerOf(handler) !== undefined)
    report('decode', 'does not go with handleEvents, which decodes records with the schemas of its catalog: remove it')
}
