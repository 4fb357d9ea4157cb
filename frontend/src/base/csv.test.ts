import { expect, test } from "vitest";
import { csv } from "./csv";

test("cells are quoted where they must be, and lines end as RFC 4180 says", () => {
  expect(csv(["a", "b"], [["x,y", 'say "hi"'], ["two\nlines", null], [1e-7, true]])).toBe('a,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n1e-7,true\r\n');
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])("the text %j is no formula to a spreadsheet", (text) => {
  expect(csv(["a"], [[text]])).toBe(`a\r\n'${text}\r\n`);
});

test("a negative number stays a number", () => {
  expect(csv(["a"], [[-2]])).toBe("a\r\n-2\r\n");
});
