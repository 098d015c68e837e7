import type { ContractRule } from './rule.ts'

/** The name of a rule. */
export type RuleName =
  | 'versionEdited'
  | 'notASchema'
  | 'nothingFits'
  | 'notExported'
  | 'libraryChanged'
  | 'eventRemoved'
  | 'notWritten'
  | 'versionRemoved'
  | 'topicChanged'
  | 'formChanged'
  | 'keyChanged'
  | 'staleWaiver'
  | 'requiredAdded'
  | 'requiredRemoved'
  | 'typeChanged'
  | 'becameRequired'
  | 'becameOptional'
  | 'undeclaredRefused'
  | 'valueAdded'
  | 'valueRemoved'
  | 'boundChanged'
  | 'lengthChanged'
  | 'patternChanged'
  | 'formatChanged'
  | 'sizeChanged'
  | 'memberChanged'
  | 'branchMissing'
  | 'branchesOverlap'
  | 'conditionChanged'
  | 'otherChange'
  | 'defaultChanged'
  | 'noDefault'
  | 'looksRenamed'
  | 'cannotTell'
  | 'readerRefuses'
  | 'oldEventRefused'
  | 'upcastFails'
  | 'notTried'
  | 'waitingRefused'
  | 'waitingNotTold'

/** All rules, by name; the reference page is made from them. */
export const contractRules: Readonly<Record<RuleName, ContractRule>> = {
  versionEdited: {
    code: 'WB-C001',
    title: 'a released version was edited',
    explanation:
      'Consumers that were built with the contract file of this version do not see the edit, so one version has two meanings.',
    example: { before: 'v1.json: {"required":["id"]}', after: 'v1.json: {"required":["id","total"]}' },
    remedy: 'Restore the file, and write the change as the next version.',
  },
  notASchema: {
    code: 'WB-C002',
    title: 'a place is no JSON Schema',
    explanation: 'The meaning of the place is not known, so nothing about it can be proven.',
    example: { before: '{"type":"string"}', after: '{"type":"Date"}' },
    remedy: 'Describe the value as it is on the wire: a date is a string with "format": "date-time".',
  },
  nothingFits: {
    code: 'WB-C003',
    title: 'no event fits the schema',
    explanation: 'The schema contradicts itself. Every comparison with it succeeds, and no event can be written.',
    example: { before: '{"type":"string"}', after: '{"type":"string","const":7}' },
    remedy: 'Remove one of the demands that contradict each other.',
  },
  notExported: {
    code: 'WB-C004',
    title: 'the JSON Schema leaves out what the schema checks',
    explanation:
      'The library checks more, or less, than the JSON Schema that it exports, and the gate compares what is exported.',
    example: { before: 'z.string()', after: 'z.string().refine(isIban)' },
    remedy: 'Express the check as a pattern, a format or a listed value, or move it into the handler.',
  },
  libraryChanged: {
    code: 'WB-C005',
    title: 'the schema library changed',
    explanation: 'Another version of the library may export other text for the same schema.',
    example: { before: '"vendorVersion": "4.1.13"', after: '"vendorVersion": "4.6.7"' },
    remedy: 'Nothing, if no other finding names this event: the meanings are the same.',
  },
  eventRemoved: {
    code: 'WB-C006',
    title: 'an event is no longer in the catalog',
    explanation: 'Records of the event wait in topics, retry tiers and dead letters as long as those keep them.',
    example: { before: 'schemas/OrderPlaced/v1.json', after: '' },
    remedy: 'Keep the definition until the last record of the event is gone.',
  },
  notWritten: {
    code: 'WB-C007',
    title: 'a contract file is missing or out of date',
    explanation: 'The catalog and the files in the repository differ, so a review does not see the change.',
    example: { before: 'catalog: OrderPlaced v2', after: 'schemas/OrderPlaced/v1.json' },
    remedy: 'Run `npx waybill-contract write` and commit the files.',
  },
  versionRemoved: {
    code: 'WB-C008',
    title: 'the contract file of a released version was removed',
    explanation:
      'Records of the version wait in topics, retry tiers and dead letters, and later changes are no longer compared with it.',
    example: { before: 'schemas/OrderPlaced/v1.json, v2.json', after: 'schemas/OrderPlaced/v2.json' },
    remedy: 'Restore the file. Keep it until the last record of the version is gone.',
  },
  topicChanged: {
    code: 'WB-C009',
    title: 'an event moved to another topic',
    explanation:
      'Consumers of the former topic receive no new events, and the order of a key across both topics is lost.',
    example: { before: '"topic": "orders"', after: '"topic": "orders.v2"' },
    remedy: 'Keep the topic, or migrate its consumers first and waive the finding for that time.',
  },
  formChanged: {
    code: 'WB-C011',
    title: 'the records of an event have another form',
    explanation:
      'The wire format of the catalog or the codec of the event changed. Consumers that know the former one cannot read new records.',
    example: { before: '{"eventType":"OrderPlaced"}', after: '"wireFormat": "CLOUDEVENTS"' },
    remedy:
      'Publish the new form to a new topic, or roll out consumers that read both first and waive the finding for that time.',
  },
  keyChanged: {
    code: 'WB-C012',
    title: 'the key of an event changed',
    explanation:
      'Events of one aggregate before and after the change lie in different partitions, so consumers may see them in another order.',
    example: { before: 'key: ({ orderId }) => orderId', after: 'key: ({ customerId }) => customerId' },
    remedy: 'Keep the key, or move the event to a new topic.',
  },
  staleWaiver: {
    code: 'WB-C010',
    title: 'a waiver is expired or covers nothing',
    explanation:
      'A waiver accepts a finding until a day. One that outlives its finding would hide the next one like it.',
    example: { before: '{"code":"WB-C205","event":"OrderPlaced","until":"2026-01-31","reason":"…"}', after: '' },
    remedy: 'Remove the entry. If its finding is still there, decide about it again.',
  },
  requiredAdded: {
    code: 'WB-C101',
    title: 'a required property was added',
    explanation:
      'Old events do not have it, so new readers refuse them. A default does not help: validators only note it.',
    example: {
      before: '{"properties":{"id":{}},"required":["id"]}',
      after: '{"properties":{"id":{},"total":{}},"required":["id","total"]}',
    },
    remedy: 'Make it optional with a default in the reader, or define a new event type.',
  },
  requiredRemoved: {
    code: 'WB-C102',
    title: 'a required property was removed',
    explanation: 'Old readers require it, so they refuse new events for as long as a deployment rolls.',
    example: {
      before: '{"properties":{"id":{},"total":{}},"required":["id","total"]}',
      after: '{"properties":{"id":{}},"required":["id"]}',
    },
    remedy: 'Keep writing it, or define a new event type.',
  },
  typeChanged: {
    code: 'WB-C103',
    title: 'a type changed',
    explanation: 'One side refuses values of the type of the other.',
    example: { before: '{"type":"integer"}', after: '{"type":"string"}' },
    remedy: 'Add an optional property of the new type beside the old one, or define a new event type.',
  },
  becameRequired: {
    code: 'WB-C201',
    title: 'a property became required',
    explanation: 'Old events may lack it, so new readers refuse them.',
    example: { before: '{"properties":{"note":{}}}', after: '{"properties":{"note":{}},"required":["note"]}' },
    remedy: 'Leave it optional and refuse its absence in the handler.',
  },
  becameOptional: {
    code: 'WB-C202',
    title: 'a property became optional',
    explanation: 'Old readers require it and refuse new events without it. The specified check does not see this.',
    example: { before: '{"properties":{"note":{}},"required":["note"]}', after: '{"properties":{"note":{}}}' },
    remedy: 'Keep writing it until every reader runs the new schema.',
  },
  undeclaredRefused: {
    code: 'WB-C203',
    title: 'a reader refuses properties that it does not declare',
    explanation: 'With "additionalProperties": false a reader refuses every property that the other version added.',
    example: {
      before: '{"properties":{"id":{}},"additionalProperties":false}',
      after: '{"properties":{"id":{},"note":{}},"additionalProperties":false}',
    },
    remedy: 'Let readers be open: drop "additionalProperties": false (in zod, `z.object` instead of `z.strictObject`).',
  },
  valueAdded: {
    code: 'WB-C205',
    title: 'a listed value was added',
    explanation: 'Old readers do not know it: a validator refuses the event, a `switch` falls through.',
    example: { before: '{"enum":["normal"]}', after: '{"enum":["normal","high"]}' },
    remedy: 'Roll out readers that know the value before the first writer, and waive the finding for that time.',
  },
  valueRemoved: {
    code: 'WB-C206',
    title: 'a listed value was removed',
    explanation: 'Old events still have it, and new readers refuse them.',
    example: { before: '{"enum":["normal","high"]}', after: '{"enum":["normal"]}' },
    remedy: 'Keep the value in the schema and stop writing it.',
  },
  boundChanged: {
    code: 'WB-C207',
    title: 'a bound of a number changed',
    explanation: 'Numbers between the old and the new bound are written by one version and refused by the other.',
    example: { before: '{"maximum":100}', after: '{"maximum":50}' },
    remedy: 'Check the tighter bound in the handler or where the event is written.',
  },
  lengthChanged: {
    code: 'WB-C208',
    title: 'a length of a text changed',
    explanation: 'Texts between the old and the new length are written by one version and refused by the other.',
    example: { before: '{"maxLength":80}', after: '{"maxLength":40}' },
    remedy: 'Check the tighter length in the handler or where the event is written.',
  },
  patternChanged: {
    code: 'WB-C209',
    title: 'a pattern changed',
    explanation: 'A text that one pattern matches and the other does not is refused by one version.',
    example: { before: '{"pattern":"^[A-Z]+$"}', after: '{"pattern":"^[A-Z]{3}$"}' },
    remedy: 'Check the tighter pattern in the handler or where the event is written.',
  },
  formatChanged: {
    code: 'WB-C210',
    title: 'a format changed',
    explanation: 'Readers that check formats refuse texts of the other version.',
    example: { before: '{"type":"string"}', after: '{"type":"string","format":"email"}' },
    remedy: 'Check the format where the event is written.',
  },
  sizeChanged: {
    code: 'WB-C211',
    title: 'a size or the uniqueness of items changed',
    explanation: 'Lists or objects of one version are too short, too long or repeat items for the other.',
    example: { before: '{"type":"array"}', after: '{"type":"array","minItems":1}' },
    remedy: 'Check the size in the handler or where the event is written.',
  },
  memberChanged: {
    code: 'WB-C212',
    title: 'members of a list or a map changed',
    explanation: 'Items, properties of a pattern or names of properties of one version are refused by the other.',
    example: { before: '{"propertyNames":{"maxLength":9}}', after: '{"propertyNames":{"maxLength":5}}' },
    remedy: 'Add an optional property with the new form beside the old one.',
  },
  branchMissing: {
    code: 'WB-C213',
    title: 'a member of a union is not known to one version',
    explanation:
      'A reader without the member refuses its events; one that does not validate falls through its `switch`.',
    example: { before: '{"anyOf":[A]}', after: '{"anyOf":[A,B]}' },
    remedy: 'Roll out readers that know the member before the first writer; never remove one that was written.',
  },
  branchesOverlap: {
    code: 'WB-C215',
    title: 'a value fits two members of an exclusive union',
    explanation: '"oneOf" refuses a value that fits two of its members.',
    example: { before: '{"oneOf":[{"type":"number"}]}', after: '{"oneOf":[{"type":"number"},{"type":"integer"}]}' },
    remedy: 'Use "anyOf", or tell the members apart by a constant.',
  },
  conditionChanged: {
    code: 'WB-C216',
    title: 'a condition between properties changed',
    explanation: 'Events of one version do not meet a dependency, a condition or an exclusion of the other.',
    example: { before: '{}', after: '{"dependentRequired":{"card":["address"]}}' },
    remedy: 'Check the condition in the handler or where the event is written.',
  },
  otherChange: {
    code: 'WB-C299',
    title: 'a change that no single keyword explains',
    explanation:
      'The example is written by one version and refused by the other, because of several keywords together.',
    example: { before: '{"anyOf":[A,B]}', after: '{"anyOf":[AB]}' },
    remedy: 'Compare the example with both schemas, and keep accepting it.',
  },
  defaultChanged: {
    code: 'WB-C301',
    title: 'a default changed',
    explanation: 'Both versions validate, but an old event without the property means something else to a new reader.',
    example: { before: '{"default":"normal"}', after: '{"default":"high"}' },
    remedy: 'Keep the default, and write the value where it differs.',
  },
  noDefault: {
    code: 'WB-C302',
    title: 'an optional property was added without a default',
    explanation: 'Handlers read undefined from old events. The policy asks for a default, or for the next version.',
    example: { before: '{"properties":{}}', after: '{"properties":{"priority":{"enum":["normal","high"]}}}' },
    remedy: 'Add a default to the schema and to the consumer, or raise the version.',
  },
  looksRenamed: {
    code: 'WB-C303',
    title: 'a property looks renamed',
    explanation:
      'One optional property is gone and another has its schema. Both versions validate, and the value is lost.',
    example: {
      before: '{"properties":{"mail":{"type":"string"}}}',
      after: '{"properties":{"email":{"type":"string"}}}',
    },
    remedy: 'Write both names until every reader knows the new one.',
  },
  cannotTell: {
    code: 'WB-C401',
    title: 'it cannot be told whether the versions are compatible',
    explanation:
      'A keyword or its size puts the answer out of reach. The gate never takes this for a pass in strict mode.',
    example: { before: String.raw`{"pattern":"(a)\\1"}`, after: String.raw`{"pattern":"(a|b)\\1"}` },
    remedy: 'Write the place with keywords that can be compared, or waive the finding with its reason.',
  },
  readerRefuses: {
    code: 'WB-C501',
    title: 'an existing consumer refused a new event',
    explanation:
      'The decoder or handler of the base ran with an event generated from the new schema, and failed. It fails for such ' +
      'records for as long as a deployment rolls.',
    example: { before: 'handler of the base: switch (priority) { case "normal": … }', after: '{"priority":"urgent"}' },
    remedy: 'Let the consumer accept the event first, release it, and change the writer after that.',
  },
  oldEventRefused: {
    code: 'WB-C502',
    title: 'a new consumer refused an old event',
    explanation:
      'The new decoder or handler ran with an event generated from a released schema, and failed. Such records lie in topics, ' +
      'retry tiers and dead letters.',
    example: { before: '{"id":"o-1"}', after: 'handler: event.payload.note.trim()' },
    remedy: 'Accept the event, or add an upcast step from its version.',
  },
  upcastFails: {
    code: 'WB-C503',
    title: 'an upcast step failed',
    explanation:
      'An event generated from the older version went through the upcast steps. A step threw, or its result does not fit the ' +
      'newest schema.',
    example: { before: 'v1: {"text":"a"}', after: 'upcast: ({ text }) => ({ body: text.split("|")[1] })' },
    remedy: 'Make the step total: it must accept every event of the version it starts from.',
  },
  notTried: {
    code: 'WB-C504',
    title: 'consumers were not tried with an event',
    explanation:
      'No event could be generated that its writer accepts, or the code of the base could not be loaded. Nothing is known ' +
      'about the consumers of this event.',
    example: { before: 'z.string().refine(isIban)', after: '' },
    remedy: 'Export `samples` for the event beside the catalog, or correct the error in the message.',
  },
  waitingRefused: {
    code: 'WB-C601',
    title: 'the catalog cannot read waiting records',
    explanation:
      'Records of the event wait in retry topics, dead letters or an outbox. The new catalog refuses them, so each becomes a dead ' +
      'letter, or stays one.',
    example: {
      before: 'inventory: 12 records of OrderPlaced version 1',
      after: 'catalog: OrderPlaced version 2, no step from 1',
    },
    remedy: 'Add an upcast step from the version, or keep the event, until the last of these records is gone.',
  },
  waitingNotTold: {
    code: 'WB-C602',
    title: 'it cannot be told whether waiting records can be read',
    explanation:
      'The contract file of their version is missing, the version is newer than the catalog, the inventory is incomplete, or ' +
      'no proof was found.',
    example: { before: 'inventory: 3 records of OrderPlaced version 4', after: 'catalog: OrderPlaced version 3' },
    remedy: 'Restore the contract file, or count the waiting records again and read them to their end.',
  },
}
