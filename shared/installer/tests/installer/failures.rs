//! A refusal of AWS is reported with the call, the object and the right.

use ports::{Fault, PortError, Refusal};

use installer::live::{
    account::decoded,
    failure::{AwsRefusal, of_port},
};

#[test]
fn a_refusal_names_the_call_the_object_and_the_right() {
    let refused = |code, message| AwsRefusal { code, message };
    let denied = refused("AccessDeniedException", "User: x is not\n authorized");
    assert!(!denied.is_absence());
    assert_eq!(
        denied.in_words("eks:DescribeCluster", "demo"),
        "eks:DescribeCluster demo: AccessDeniedException: User: x is not authorized (needed: the right \
         eks:DescribeCluster)"
    );
    assert!(refused("ValidationError", "Stack with id jm does not exist").is_absence());
    assert!(!refused("ValidationError", "Stack:jm is in a wrong state").is_absence());
    assert!(refused("NoSuchEntity", "").is_absence());
}

#[test]
fn a_failure_of_a_port_is_reported_with_what_it_is_about() {
    let refusal = Refusal { code: "UnauthorizedOperation".to_owned(), message: "no".to_owned() };
    let error = PortError::because("DescribeInstanceTypes", Fault::Permanent, refusal);
    assert_eq!(
        of_port("ec2", &error),
        "ec2:DescribeInstanceTypes: UnauthorizedOperation: no (needed: the right \
         ec2:DescribeInstanceTypes)"
    );
    let error = PortError::because("GetProducts", Fault::Unknown, "broken");
    assert_eq!(of_port("pricing", &error), "pricing:GetProducts: broken");
}

#[test]
fn documents_of_iam_are_decoded() {
    assert_eq!(decoded("%7B%22a%22%3A+%22b%C3%A9%22%7D"), "{\"a\":+\"bé\"}");
    assert_eq!(decoded("100%, %2, %zz"), "100%, %2, %zz");
}
