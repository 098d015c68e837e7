/** The tables of docs/explanation/performance.md, filled from the lines of `npm run bench -- NAME --json`. */

import type { BenchLine, BenchNote } from '../statistics.ts'

/** A line of a result, as --json prints it. */
export type Result = BenchLine | BenchNote

/** A row of a table: a case beside one peer. */
export interface ComparedCase {
  readonly case: string
  readonly references: readonly string[]
}

/** A table of the page. */
export interface PerformanceTable {
  readonly bench: string
  readonly cases: readonly ComparedCase[]
  /** The units of the rate and of the CPU time. */
  readonly rate: string
  readonly cpu: string
  /** The unit of the first pass, if there are several. */
  readonly cold?: string
}

const heads = ['case', 'beside', 'Waybill', 'peer', 'ratio (95 %)', 'cold ratio', 'CPU µs, Waybill / peer']

/** Returns the page with each of its tables replaced. @throws Error if the page has no place for one */
export function fillPage(page: string, tables: readonly PerformanceTable[], results: readonly Result[]): string {
  return tables.reduce((text, table) => {
    const place = new RegExp(`(<!-- measured: ${table.bench} -->\n)[\\s\\S]*?(<!-- end -->)`)
    if (!place.test(text)) throw new Error(`The page has no place for the table of ${table.bench}.`)
    const own = results.filter(({ bench }) => bench === table.bench)
    return text.replace(place, (_, start: string, end: string) => `${start}\n${tableText(table, own)}\n\n${end}`)
  }, page)
}

function tableText(table: PerformanceTable, results: readonly Result[]): string {
  const rows = table.cases.flatMap((one) =>
    one.references.map((reference) => rowOf(table, one.case, reference, results)),
  )
  const lines = [heads, heads.map((_, column) => (column < 2 ? '---' : '---:')), ...rows]
  const notes = table.cases.flatMap((one) => notesOf(one.case, results))
  const body = lines.map((cells) => `| ${cells.join(' | ')} |`)
  return [...body, ...(notes.length === 0 ? [] : ['', ...notes])].join('\n')
}

function rowOf(table: PerformanceTable, name: string, reference: string, results: readonly Result[]): string[] {
  const find = (unit: string | undefined): BenchLine | undefined =>
    results.findLast(
      (one): one is BenchLine => 'unit' in one && one.case === name && one.reference === reference && one.unit === unit,
    )
  const rate = find(table.rate)
  const cpu = find(table.cpu)
  const cold = find(table.cold)
  if (rate === undefined) return [name, reference, 'not measured yet', '', '', '', '']
  const { value, referenceValue, ratio, low, high } = rate
  return [
    name,
    reference,
    count(value),
    count(referenceValue),
    `**${short(ratio)}** (${short(low)} to ${short(high)})`,
    cold === undefined ? '' : short(cold.ratio),
    cpu === undefined ? '' : `${short(cpu.value)} / ${short(cpu.referenceValue)}`,
  ]
}

/** Lists the notes of a case. Of two with the same beginning, the later one is valid. */
function notesOf(name: string, results: readonly Result[]): string[] {
  const notes = results.filter((one): one is BenchNote => 'note' in one && one.case === name)
  const latest = new Map(notes.map(({ note }) => [note.split(':')[0], note]))
  return Array.from(latest.values(), (note) => `- ${name}: ${note}`)
}

/** Rounds to three digits, with thousands separated. */
function count(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en-US')
}

function short(value: number): string {
  return value >= 100 ? count(value) : String(Number(value.toPrecision(2)))
}
