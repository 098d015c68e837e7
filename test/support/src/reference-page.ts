/** Markdown of reference pages that are generated from rules in the code, so that page and code agree. */

import type { OptionRow } from '@waybill/core/option'

/**
 * Returns a table of options.
 *
 * @param computed defaults that are better said in words, by path
 */
export function optionTable(rows: readonly OptionRow[], computed: Readonly<Record<string, string>> = {}): string[] {
  return table(
    ['option', 'takes', 'default', 'because'],
    rows.map((row) => [code(row.path), row.expects, defaultOf(row, computed), row.because ?? '']),
  )
}

function defaultOf(
  { path, required, default: fallback }: OptionRow,
  computed: Readonly<Record<string, string>>,
): string {
  if (required) return 'required'
  if (computed[path] !== undefined) return computed[path]
  if (fallback === undefined) return ''
  if (Array.isArray(fallback) && fallback.length === 0) return 'none'
  if (typeof fallback === 'object') return 'those below'
  return code(typeof fallback === 'string' ? fallback : JSON.stringify(fallback))
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  return [line(heads), `|${heads.map(() => '---|').join('')}`, ...rows.map(line)]
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}

export function code(text: string): string {
  return `\`${text}\``
}

export function page(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
