import { ambientRule } from './rule/ambient.ts'
import { consoleRule, registryRule, unfinishedRule, workplaceRule } from './rule/banned-text.ts'
import { barrelRule } from './rule/barrel.ts'
import { errorCodeRule } from './rule/error-code.ts'
import { exampleImportRule } from './rule/example-import.ts'
import { folderListRule } from './rule/folder-list.ts'
import { rootFileRule, sharedNameRule, smallFolderRule } from './rule/folder-size.ts'
import { changelogRule, packageListRule } from './rule/front-page.ts'
import { glossaryRule } from './rule/glossary.ts'
import { importTableRule } from './rule/import-table.ts'
import { manifestRule } from './rule/manifest.ts'
import { markdownLinkRule } from './rule/markdown-link.ts'
import { packageBoundaryRule } from './rule/package-boundary.ts'
import { requirementTableRule } from './rule/requirement-table.ts'
import { roomOrderRule } from './rule/room-order.ts'
import { fileSizeRule, sourceSizeRule } from './rule/size.ts'
import { skippedTestRule, testRunRule } from './rule/test-file.ts'
import { thrownErrorRule } from './rule/thrown-error.ts'
import { invariantRule, nobodyRule, openingRule, requirementIdRule } from './rule/words.ts'
import type { Rule } from './tree.ts'

/** Every rule of this repository. */
export const rules: readonly Rule[] = [
  importTableRule,
  roomOrderRule,
  folderListRule,
  smallFolderRule,
  rootFileRule,
  sharedNameRule,
  packageBoundaryRule,
  exampleImportRule,
  barrelRule,
  ambientRule,
  thrownErrorRule,
  errorCodeRule,
  consoleRule,
  openingRule,
  nobodyRule,
  requirementIdRule,
  invariantRule,
  testRunRule,
  skippedTestRule,
  requirementTableRule,
  glossaryRule,
  markdownLinkRule,
  packageListRule,
  changelogRule,
  manifestRule,
  registryRule,
  unfinishedRule,
  workplaceRule,
  sourceSizeRule,
  fileSizeRule,
]
