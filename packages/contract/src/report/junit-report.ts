import type { ContractReport } from '../gate/check-contracts.ts'
import { entriesOf, type ReportEntry, type ReportPlaces } from './report-entry.ts'

/** Returns a report as JUnit XML. What does not fail the check is a passed case with its text as output. */
export function junitReport(report: ContractReport, places: ReportPlaces): string {
  const entries = entriesOf(report, places)
  const failures = entries.filter(({ level }) => level === 'error').length
  const cases =
    entries.length === 0
      ? ['    <testcase classname="contracts" name="all contracts are compatible"/>']
      : entries.map(caseOf)
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<testsuites>',
    `  <testsuite name="contracts" tests="${cases.length}" failures="${failures}">`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n')
}

function caseOf({ code, event, level, path, line, message, text }: ReportEntry): string {
  const inside =
    level === 'error'
      ? `<failure type="${code}" message="${escaped(message)}">${escaped(text)}</failure>`
      : `<system-out>${escaped(text)}</system-out>`
  const place = `file="${escaped(path)}" line="${line}"`
  return `    <testcase classname="${escaped(event)}" name="${escaped(`${code} ${message}`)}" ${place}>${inside}</testcase>`
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Control characters have no place in XML 1.0, not even escaped. */
function escaped(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{Cc}\t\n\r]|\p{Noncharacter_Code_Point}/gu, '\ufffd')
    .replaceAll(/[&<>"]/g, (sign) => entities[sign] ?? sign)
    .replaceAll('\n', '&#10;')
}
