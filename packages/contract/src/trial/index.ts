export { type SampleOptions, sampleEvents } from '../sample/sample-events.ts'
export { checkExported } from './check-exported.ts'
export type { ContractConsumer, EventCall } from './contract-consumer.ts'
export { type CrossCheckOptions, type CrossCheckReport, crossCheck } from './cross-check.ts'
