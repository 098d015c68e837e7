import type { ContractReport } from '../gate/check-contracts.ts'
import { annotations } from './annotations.ts'
import { junitReport } from './junit-report.ts'
import type { ReportPlaces } from './report-entry.ts'
import { sarifReport } from './sarif-report.ts'
import { textReport } from './text-report.ts'

/** The form of a report. */
export type ReportFormat = 'text' | 'json' | 'github' | 'sarif' | 'junit'

/**
 * Returns a report in one of its forms. `folder` is the folder of the contract files, and `texts` are the contract files by
 * their paths inside it, for forms that point at lines.
 */
export function reportText(
  report: ContractReport,
  format: ReportFormat,
  folder: string,
  texts?: ReadonlyMap<string, string>,
): string {
  const places: ReportPlaces = { folder, texts }
  if (format === 'json') return `${JSON.stringify(report, null, 2)}\n`
  if (format === 'github') return annotations(report, places)
  if (format === 'sarif') return sarifReport(report, places)
  return format === 'junit' ? junitReport(report, places) : textReport(report)
}
