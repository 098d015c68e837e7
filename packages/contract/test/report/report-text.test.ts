import {
  type ContractFile,
  type ContractReport,
  checkContracts,
  type ReportFormat,
  reportText,
} from '@waybill/contract'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contractText } from '../../src/file/contract-file.ts'
import { lineOfPointer } from '../../src/report/line-of-pointer.ts'
import { pointerTo } from '../../src/schema/json.ts'

const v1: ContractFile = {
  event: 'Order<Placed>',
  version: 1,
  topic: 'orders',
  vendor: 'zod',
  schema: { type: 'object', properties: { id: { type: 'string' }, priority: { enum: ['normal'] } }, required: ['id'] },
}
const v2: ContractFile = {
  ...v1,
  version: 2,
  schema: {
    type: 'object',
    properties: { id: { type: 'number' }, priority: { enum: ['high', 'normal'] } },
    required: ['id'],
  },
}
const file = 'Order%3CPlaced%3E/v2.json'
const texts = new Map([
  [file, contractText(v2)],
  ['waivers.json', '[\n  {\n    "code": "WB-C999" }\n]'],
])
const waivers = [
  { code: 'WB-C205', event: 'Order<Placed>', until: '2026-12-31', reason: 'readers first' },
  { code: 'WB-C999', event: 'Gone', until: '2026-12-31', reason: 'x' },
]
const report = checkContracts({ current: [v1, v2], against: [v1], waivers, today: '2026-11-18' })

function printed(format: ReportFormat, of: ContractReport = report): string {
  return reportText(of, format, 'schemas', texts)
}

describe('a report', () => {
  test('is read by people as text', () => {
    expect(printed('text')).toBe(
      [
        `BREAKING WB-C103 ${file} against v1: Type change for id: string -> number`,
        '  example: {"id":""}',
        '  Add an optional property of the new type beside the old one, or define a new event type.',
        `WAIVED WB-C205 ${file} against v1: priority also lists "high"; old readers refuse new events`,
        '  example: {"priority":"high","id":0}',
        '  readers first',
        'BREAKING WB-C010 The waiver of WB-C999 for Gone covers no finding',
        '  Remove the entry. If its finding is still there, decide about it again.',
        '1 comparison, 3 findings: failed',
        '',
      ].join('\n'),
    )
  })

  test('is read by programs as JSON', () => {
    expect(JSON.parse(printed('json'))).toEqual(JSON.parse(JSON.stringify(report)))
  })

  test('annotates the lines of a pull request on GitHub', () => {
    const place = `file=schemas/${file.replaceAll('%', '%25')}`
    expect(printed('github').split('\n')).toEqual([
      `::error ${place},line=3,title=WB-C103::Type change for id: string -> number%0AExample: {"id":""}%0AAdd an optional property of the new type beside the old one, or define a new event type.`,
      `::notice ${place},line=6,title=WB-C205::priority also lists "high"; old readers refuse new events%0AExample: {"priority":"high","id":0}%0AWaived: readers first`,
      '::error file=schemas/waivers.json,line=3,title=WB-C010::The waiver of WB-C999 for Gone covers no finding%0ARemove the entry. If its finding is still there, decide about it again.',
      '',
    ])
  })

  test('is read by code scanning as SARIF', () => {
    const { version, runs } = JSON.parse(printed('sarif')) as {
      version: string
      runs: [{ tool: { driver: { rules: { id: string }[] } }; results: { ruleId: string; suppressions?: object[] }[] }]
    }
    const [{ tool, results }] = runs
    const known = tool.driver.rules.map(({ id }) => id)
    expect(version).toBe('2.1.0')
    expect(new Set(known).size).toBe(known.length)
    expect(results.map(({ ruleId }) => known.includes(ruleId))).toEqual([true, true, true])
    expect(results[0]).toMatchObject({
      level: 'error',
      locations: [
        {
          physicalLocation: {
            artifactLocation: { uri: `schemas/${file.replaceAll('%', '%25')}` },
            region: { startLine: 3 },
          },
        },
      ],
    })
    expect(results[1]?.suppressions).toEqual([{ kind: 'external', justification: 'readers first' }])
  })

  test('is read by test reporters as JUnit, whatever the texts hold', () => {
    const xml = printed('junit')
    expect(xml).toContain('<testsuite name="contracts" tests="3" failures="2">')
    expect(xml).toContain('classname="Order&lt;Placed&gt;"')
    const [first] = report.findings
    if (first === undefined) throw new RangeError('no finding')
    const odd = printed('junit', { ...report, findings: [{ ...first, message: 'a\u0000\u0008"<&>\ud800' }] })
    expect(odd.replaceAll(/<[^<>]*>/g, '')).not.toMatch(/[<>]|&(?!\w+;|#10;)/)
    expect(odd).not.toMatch(/[^\P{Cc}\n]/u)
    expect(odd.isWellFormed()).toBe(true)
  })

  test('without a finding is a passed case', () => {
    const clean = checkContracts({ current: [v1], against: [v1], today: '2026-11-18' })
    expect(printed('junit', clean)).toContain('tests="1" failures="0"')
    expect(printed('github', clean)).toBe('')
    expect(printed('text', clean)).toBe('0 comparisons, 0 findings: passed\n')
  })
})

describe('the line of a place', () => {
  test('is that of its key in any JSON text', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (json) => {
        const value: unknown = JSON.parse(json)
        const text = JSON.stringify(value, null, 2)
        const lines = linesOf(value)
        expect(Array.from(lines.keys(), (pointer) => [pointer, lineOfPointer(text, pointer)])).toEqual([...lines])
      }),
    )
  })

  test('is that of the place around it where it is gone', () => {
    const text = '{\n "a": {\n  "b": 1\n }\n}'
    expect(['/a/c', '/a/b/0/x', '/z', ''].map((pointer) => lineOfPointer(text, pointer))).toEqual([2, 3, 1, 1])
  })

  test('is found in a text that is cut off', () => {
    expect(lineOfPointer('{\n "a": [\n  1,\n  "x', '/a/1')).toBe(4)
    expect(lineOfPointer('', '/a')).toBe(1)
  })
})

/** Every place of a value and its line in the printed text: each member and each closing bracket is a line. */
function linesOf(value: unknown): Map<string, number> {
  const lines = new Map<string, number>()
  let line = 1
  const visit = (inner: unknown, pointer: string): void => {
    lines.set(pointer, line)
    if (typeof inner !== 'object' || inner === null) return
    const members = Object.entries(inner)
    for (const [key, member] of members) {
      line += 1
      visit(member, pointerTo(pointer, key))
    }
    if (members.length > 0) line += 1
  }
  visit(value, '')
  return lines
}
